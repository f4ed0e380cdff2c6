"""Checks of derivatives against finite differences, for tests of functions and primitives.

A derivative in one random direction is compared with a central difference along it; a pull-back
through the identity ``<ct, J t> = <J^T ct, t>``. Random directions miss an error with probability
zero, so one per check is enough. Derivatives of derivatives are checked by the same means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NoReturn

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax._base import frames
from tinyjax.core.api import derivatives
from tinyjax.core.tracing import calling
from tinyjax.core.values import Array, ConcreteArray
from tinyjax.dtypes import DType, HostArray, float0, is_inexact
from tinyjax.testing import specs

_MODES: Final = ("fwd", "rev")


class DerivativeMismatchError(errors.TinyjaxError, AssertionError):
    """A derivative and a finite difference disagree.

    Attributes:
        mode: the mode: ``"fwd"``, or ``"rev"``; ``"rev of fwd"`` at order two.
        order: the number of times that the function had been differentiated.
        place: the path of the result (fwd) or of the argument (rev) that is off.
        derivative: the value of the derivative.
        difference: the finite difference.

    Example:
        >>> import tinyjax
        >>> from tinyjax import test_util
        >>> @tinyjax.custom_jvp
        ... def wrong(x):
        ...     return x**2
        >>> _ = wrong.defjvp(lambda primals, tangents: (primals[0] ** 2, tangents[0]))
        >>> try:
        ...     test_util.check_grads(wrong, (3.0,), order=1)
        ... except test_util.DerivativeMismatchError as error:
        ...     error.mode, error.order
        ('fwd', 1)
    """

    def __init__(
        self,
        message: str,
        mode: str,
        order: int,
        place: str,
        derivative: HostArray,
        difference: HostArray,
    ) -> None:
        super().__init__(message)
        self.mode = mode
        self.order = order
        self.place = place
        self.derivative = derivative
        self.difference = difference


@attrs.frozen
class _Check:
    """The function under a check, and the tolerances.

    Attributes:
        fun: the user's function, for messages.
        history: the modes of the derivatives taken so far, the last one first.
        atol: absolute tolerance; by dtype where None.
        rtol: relative tolerance; likewise.
        eps: the step of the finite difference; likewise.
        rng: the source of directions.
        context: the user's words about it, for messages.
    """

    fun: Callable[..., Any]
    history: tuple[str, ...]
    atol: float | None
    rtol: float | None
    eps: float | None
    rng: np.random.Generator
    context: str = ""

    def derived(self, mode: str) -> _Check:
        return attrs.evolve(self, history=(mode, *self.history))

    def step(self, dtypes: Sequence[DType]) -> float:
        """Return the step that balances rounding and truncation: the cube root of the precision."""
        if self.eps is not None:
            return self.eps
        return float(max((specs.epsilon(d) for d in dtypes), default=1e-16) ** (1 / 3))

    def tolerances(
        self, dtypes: Sequence[DType], values: Sequence[HostArray]
    ) -> tuple[float, float]:
        """Return absolute and relative tolerance; by default a few times the error to be expected.

        A value is rounded by the precision times its size, which the step divides. With the default
        step this is the precision to the power 2/3 times the size, and truncation is of the same
        order.
        """
        default = 10.0 * max((specs.epsilon(d) for d in dtypes), default=1e-16) ** (2 / 3)
        # each derivative taken adds intermediate values that a difference rounds
        default *= 10.0 ** len(self.history)
        return (
            default * max(1.0, _size(values)) if self.atol is None else self.atol,
            default if self.rtol is None else self.rtol,
        )


def _size(values: Sequence[HostArray]) -> float:
    """Return the greatest absolute value among the finite elements."""
    sizes = [np.abs(specs.wide(x)) for x in values if is_inexact(x.dtype)]
    return max((float(np.max(x, initial=0.0, where=np.isfinite(x))) for x in sizes), default=0.0)


@attrs.frozen
class _Point:
    """A flattened call: its argument leaves, and the function of those."""

    check: _Check
    fun: Callable[..., Any]
    in_tree: tree.PyTreeDef
    arrays: tuple[Array, ...]

    @property
    def hosts(self) -> list[HostArray]:
        return [x.concrete("a finite difference") for x in self.arrays]

    def args(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        return tree.unflatten_arguments(self.in_tree, leaves)[0]

    def path(self, i: int) -> str:
        return calling.argument_path(self.fun, self.in_tree, i)

    def outputs(self, leaves: Sequence[HostArray]) -> tuple[list[HostArray], tree.PyTreeDef]:
        out = self.fun(*self.args([ConcreteArray(x) for x in leaves]))
        return _hosts(self.fun, out)

    def differences(
        self, directions: Sequence[HostArray]
    ) -> tuple[list[HostArray], tree.PyTreeDef, float]:
        """Return the central difference of every result along a direction, and the step used."""
        hosts = self.hosts
        inexact = [x.dtype for x in hosts if is_inexact(x.dtype)]
        eps = self.check.step(inexact)

        def moved(step: float) -> list[HostArray]:
            return [
                np.asarray(x + (step * t).astype(x.dtype), x.dtype) if is_inexact(x.dtype) else x
                for x, t in zip(hosts, directions, strict=True)
            ]

        with np.errstate(all="ignore"):
            ahead, out_tree = self.outputs(moved(eps))
            behind, _ = self.outputs(moved(-eps))
            slopes = [
                # infinities that stay what they are have no slope
                np.asarray(np.where(a == b, 0, specs.wide(a) - specs.wide(b)) / (2 * eps))
                if is_inexact(a.dtype)
                else np.zeros(a.shape, float0)
                for a, b in zip(ahead, behind, strict=True)
            ]
        return slopes, out_tree, eps


def _hosts(fun: Callable[..., Any], value: Any) -> tuple[list[HostArray], tree.PyTreeDef]:
    leaves, out_tree = tree.flatten(value)
    arrays = calling.as_arrays(leaves, fun, tree.structure(((value,), {})))
    return [x.concrete("a finite difference") for x in arrays], out_tree


def _point(check: _Check, fun: Callable[..., Any], args: Sequence[Any]) -> _Point:
    leaves, in_tree = tree.flatten_arguments(tuple(args), {})
    return _Point(check, fun, in_tree, tuple(calling.as_arrays(leaves, fun, in_tree)))


def _direction(rng: np.random.Generator, like: HostArray) -> HostArray:
    """Return a random tangent of the type of a primal."""
    return specs.tangent_like(rng, like) if is_inexact(like.dtype) else np.zeros(like.shape, float0)


def _fail(
    point: _Point, mode: str, place: str, got: HostArray, expected: HostArray, detail: str
) -> NoReturn:
    check = point.check
    modes = " of ".join((mode, *check.history))
    order = len(check.history) + 1
    raise DerivativeMismatchError(
        (f"{check.context}: " if check.context else "")
        + f"the derivative of {frames.describe_function(check.fun)} at order {order} ({modes}) is "
        f"off at {place}: {detail}. Check the jvp rule"
        + (" and the transpose rule" if "rev" in modes else "")
        + " of what it calls; if the function has a kink there, choose another point.",
        modes,
        order,
        place,
        got,
        expected,
    )


def _pushed(
    point: _Point, f_jvp: Callable[..., tuple[Any, Any]], directions: Sequence[HostArray]
) -> tuple[list[HostArray], list[HostArray]]:
    """Return the results and their tangents, as a forward derivative gives them."""
    tangents = point.args([ConcreteArray(t) for t in directions])
    value, tangent = f_jvp(point.args(point.arrays), tangents)
    return _hosts(point.fun, value)[0], _hosts(point.fun, tangent)[0]


def _check_fwd(
    point: _Point, f_jvp: Callable[..., tuple[Any, Any]], directions: Sequence[HostArray]
) -> None:
    values, tangents_out = _pushed(point, f_jvp, directions)
    expected_values, out_tree = point.outputs(point.hosts)
    slopes, _, eps = point.differences(directions)
    used = [x.dtype for x in (*point.hosts, *values) if is_inexact(x.dtype)]
    for i, (got, expected) in enumerate(zip(values, expected_values, strict=True)):
        atol, rtol = point.check.tolerances(used, [got])
        if not np.allclose(specs.wide(got), specs.wide(expected), rtol, atol, equal_nan=True):
            place = calling.leaf_path("result", out_tree, i)
            _fail(point, "fwd", place, got, expected, "the value itself differs under jvp")
    for i, (value, got, slope) in enumerate(zip(values, tangents_out, slopes, strict=True)):
        atol, rtol = point.check.tolerances(used, [value])
        if is_inexact(got.dtype) and not np.allclose(specs.wide(got), slope, rtol, atol):
            place, x, y = _worst(calling.leaf_path("result", out_tree, i), specs.wide(got), slope)
            detail = (
                f"jvp gives {x:.8g}, but a central difference with step {eps:.2g} gives {y:.8g} "
                f"(off by {abs(x - y):.2g}, allowed {atol:.2g} + {rtol:.2g} |{y:.3g}|)"
                + _blame(point, f_jvp, directions, i)
            )
            _fail(point, "fwd", place, got, slope, detail)


def _worst(path: str, got: HostArray, expected: HostArray) -> tuple[str, Any, Any]:
    """Return the element that is off by most: its path, and both values."""
    error = np.abs(got - expected)
    place = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
    index = f"[{', '.join(str(int(i)) for i in place)}]" if place else ""
    return path + index, got[place], expected[place]


def _blame(
    point: _Point, f_jvp: Callable[..., tuple[Any, Any]], directions: Sequence[HostArray], i: int
) -> str:
    """Return the arguments in which the derivative of result ``i`` is wrong."""
    wrong = []
    hosts = point.hosts
    candidates = [k for k, x in enumerate(hosts) if is_inexact(x.dtype)]
    if len(candidates) < 2:
        return ""
    for k in candidates:
        alone = [t if j == k else np.zeros_like(t) for j, t in enumerate(directions)]
        values, tangents_out = _pushed(point, f_jvp, alone)
        slopes, _, _ = point.differences(alone)
        atol, rtol = point.check.tolerances([hosts[k].dtype, tangents_out[i].dtype], [values[i]])
        if not np.allclose(specs.wide(tangents_out[i]), slopes[i], rtol, atol):
            wrong.append(point.path(k))
    return f", with respect to {' and '.join(wrong)}" if wrong else ""


def _check_rev(
    point: _Point, f_vjp: Callable[..., tuple[Any, Callable[..., Any]]], rng: np.random.Generator
) -> None:
    hosts = point.hosts
    value, pull_back = f_vjp(*point.args(point.arrays))
    values, out_tree = _hosts(point.fun, value)
    cotangents = [_direction(rng, x) for x in values]
    pulled = pull_back(tree.unflatten(out_tree, [ConcreteArray(ct) for ct in cotangents]))
    cts_in, in_tree = _hosts(point.fun, pulled)
    if len(cts_in) != len(hosts):
        _fail(
            point,
            "rev",
            "the arguments",
            np.asarray(len(cts_in)),
            np.asarray(len(hosts)),
            f"the pull-back gives {in_tree}, which does not match the arguments {point.in_tree}",
        )
    for k, (x, ct) in enumerate(zip(hosts, cts_in, strict=True)):
        if is_inexact(x.dtype) and (ct.shape != x.shape or ct.dtype != x.dtype):
            detail = f"the cotangent is {ct.dtype}{list(ct.shape)}, not {x.dtype}{list(x.shape)}"
            _fail(point, "rev", point.path(k), ct, x, detail)
    used = [x.dtype for x in (*hosts, *values) if is_inexact(x.dtype)]
    atol, rtol = point.check.tolerances(used, values)
    # One argument at a time, so that the message can name it.
    for k, x in enumerate(hosts):
        if not is_inexact(x.dtype):
            continue
        alone = [_direction(rng, x) if j == k else _nothing(y) for j, y in enumerate(hosts)]
        slopes, _, eps = point.differences(alone)
        expected, got = specs.pairing(cotangents, slopes), specs.pairing([cts_in[k]], [alone[k]])
        scale = atol * max(1.0, float(np.sqrt(sum(ct.size for ct in cotangents))))
        if not np.allclose(got, expected, rtol, scale):
            detail = (
                f"<J^T ct, t> = {got:.8g} by vjp, but <ct, J t> = {expected:.8g} by a central "
                f"difference with step {eps:.2g} (off by {abs(got - expected):.2g}, allowed "
                f"{scale:.2g} + {rtol:.2g} |{expected:.3g}|)"
            )
            _fail(point, "rev", point.path(k), np.asarray(got), np.asarray(expected), detail)


def _nothing(like: HostArray) -> HostArray:
    return np.zeros(like.shape, like.dtype if is_inexact(like.dtype) else float0)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., tuple[Any, Any]],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a forward derivative against a central difference in a random direction.

    Args:
        f: takes and returns arrays in any containers.
        f_jvp: takes primals and tangents, as tuples, and returns the value and its tangent; for
            instance ``functools.partial(tinyjax.jvp, f)``.
        args: the arguments at which to check.
        atol: absolute tolerance; by default fit for the widest rounding among the dtypes and
            the size of the results.
        rtol: relative tolerance; likewise.
        eps: step of the difference; by default the cube root of the precision.
        err_msg: what the error's message begins with.

    Raises:
        DerivativeMismatchError: they disagree.

    Example:
        >>> from functools import partial
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.test_util import check_jvp
        >>> check_jvp(jnp.sin, partial(tinyjax.jvp, jnp.sin), (0.5,))
    """
    check = _Check(f, (), atol, rtol, eps, np.random.default_rng(0), err_msg)
    point = _point(check, f, args)
    _check_fwd(point, f_jvp, [_direction(check.rng, x) for x in point.hosts])


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., tuple[Any, Callable[..., Any]]],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a pull-back against a central difference, with a random cotangent.

    Args:
        f: takes and returns arrays in any containers.
        f_vjp: takes the arguments and returns the value and the pull-back; for instance
            ``functools.partial(tinyjax.vjp, f)``.
        args: the arguments at which to check.
        atol: absolute tolerance; by default fit for the widest rounding among the dtypes and
            the size of the results.
        rtol: relative tolerance; likewise.
        eps: step of the difference; by default the cube root of the precision.
        err_msg: what the error's message begins with.

    Raises:
        DerivativeMismatchError: they disagree.

    Example:
        >>> from functools import partial
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.test_util import check_vjp
        >>> check_vjp(jnp.sin, partial(tinyjax.vjp, jnp.sin), (0.5,))
    """
    check = _Check(f, (), atol, rtol, eps, np.random.default_rng(0), err_msg)
    _check_rev(_point(check, f, args), f_vjp, check.rng)


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: str | Sequence[str] = _MODES,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of a function against finite differences, up to an order.

    At each order the first derivative is checked in every mode, and then the derivative itself is
    differentiated: with both modes, order 2 checks fwd, rev, fwd of fwd, rev of fwd, fwd of rev and
    rev of rev. Complex arguments are moved in both directions, so functions need not be
    holomorphic.

    Args:
        f: takes and returns arrays in any containers; integers among them are left alone.
        args: the arguments at which to check: not where ``f`` has a kink.
        order: how many times to differentiate.
        modes: ``"fwd"``, ``"rev"``, or both.
        atol: absolute tolerance; by default fit for the widest rounding among the dtypes and
            the size of the results.
        rtol: relative tolerance; likewise.
        eps: step of the difference; by default the cube root of the precision.

    Raises:
        DerivativeMismatchError: a derivative is off; the message names the result or the argument,
            the order, the modes, and both numbers.
        ArgumentError: a mode is unknown.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.test_util import check_grads
        >>> check_grads(lambda x, y: jnp.sin(x) * y, (0.5, 2.0), order=2)
    """
    chosen = (modes,) if isinstance(modes, str) else tuple(modes)
    for mode in chosen:
        if mode not in _MODES:
            raise errors.ArgumentError(
                f"check_grads knows the modes 'fwd' and 'rev', but got {errors.shortened(mode)}."
            )
    _recurse(
        _Check(f, (), atol, rtol, eps, np.random.default_rng(0)), f, tuple(args), order, chosen
    )


def _recurse(
    check: _Check, fun: Callable[..., Any], args: tuple[Any, ...], order: int, modes: Sequence[str]
) -> None:
    if order < 1:
        return
    point = _point(check, fun, args)
    if "fwd" in modes:
        directions = [_direction(check.rng, x) for x in point.hosts]
        _check_fwd(point, partial(derivatives.jvp, fun), directions)
        if order > 1:
            tangents = point.args([ConcreteArray(t) for t in directions])

            def pushed(*args: Any) -> Any:
                return _inexact_leaves(derivatives.jvp(fun, args, tangents)[1])

            _recurse(check.derived("fwd"), pushed, args, order - 1, modes)
    if "rev" in modes:
        _check_rev(point, partial(derivatives.vjp, fun), check.rng)
        if order > 1:
            values, out_tree = point.outputs(point.hosts)
            cotangents = tree.unflatten(
                out_tree, [ConcreteArray(_direction(check.rng, x)) for x in values]
            )

            def pulled(*args: Any) -> Any:
                return _inexact_leaves(derivatives.vjp(fun, *args)[1](cotangents))

            _recurse(check.derived("rev"), pulled, args, order - 1, modes)


def _inexact_leaves(value: Any) -> list[Any]:
    """Return the derivatives that hold something: float0 stands for none."""
    return [leaf for leaf in tree.leaves(value) if leaf.dtype != float0]

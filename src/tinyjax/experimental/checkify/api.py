"""``checkify``, ``check`` and the errors that they give."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes, tree
from tinyjax._base import frames, tracebacks
from tinyjax._primitives import arg_extrema, dynamic_slice
from tinyjax.core import jit
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, staging
from tinyjax.core.tracing.calling import FlatFunction, as_argument, is_data
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.errors import ArgumentError, TinyjaxError, check_function, described, type_name
from tinyjax.experimental.checkify import discharge

P = ParamSpec("P")
R = TypeVar("R")

user_checks: Final = frozenset({discharge.Category.USER})
nan_checks: Final = frozenset({discharge.Category.NAN})
index_checks: Final = frozenset({discharge.Category.INDEX})
div_checks: Final = frozenset({discharge.Category.DIVISION})
float_checks: Final = nan_checks | div_checks
automatic_checks: Final = float_checks | index_checks
all_checks: Final = automatic_checks | user_checks
_SETS: Final = (
    "user_checks, nan_checks, index_checks, div_checks, float_checks, automatic_checks, all_checks"
)


@attrs.frozen(eq=False)
class Error:
    """The first failure in a function, if there was one: a tree of arrays.

    Attributes:
        code: int32; 0, or the number of the site that failed. Under ``vmap`` one for each example.
        values: the values of the sites' messages.
        sites: the places that can fail.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import checkify
        >>> error, _ = checkify.checkify(lambda x: jnp.log(x), errors=checkify.nan_checks)(-1.0)
        >>> int(error.code), error.get() is None
        (1, False)
    """

    code: Array
    values: tuple[Array, ...]
    sites: tuple[discharge.Site, ...]

    def get(self) -> str | None:
        """Return the message of the failure, or None where there is none.

        Raises:
            ConcretizationError: the error is only known as a traced value.

        Example:
            >>> import tinyjax
            >>> from tinyjax.experimental import checkify
            >>> inverse = checkify.checkify(lambda x: 1 / x, errors=checkify.div_checks)
            >>> error, _ = inverse(tinyjax.numpy.float32(0))
            >>> error.get()
            'division by zero'
        """
        codes = self.code.concrete("the outcome of a check")
        if not codes.ndim:
            return self._text(()) if codes else None
        lines = [
            f"at mapped index {', '.join(map(str, place))}: {self._text(place)}"
            for place in zip(*np.nonzero(codes), strict=True)
        ]
        return "\n".join(lines) or None

    def throw(self) -> None:
        """Raise the failure, if there is one.

        Raises:
            CheckFailedError: it did; the error names the user's line.

        Example:
            >>> import tinyjax
            >>> from tinyjax.experimental import checkify
            >>> inverse = checkify.checkify(lambda x: 1 / x, errors=checkify.div_checks)
            >>> error, _ = inverse(tinyjax.numpy.float32(0))
            >>> try:
            ...     error.throw()
            ... except tinyjax.errors.CheckFailedError as failure:
            ...     print(failure.message)
            division by zero
        """
        message = self.get()
        if message is not None:
            first = next(int(code) for code in self.code.concrete("an outcome").flat if code)
            raise discharge.failure(message, self.sites[first - 1])

    def _text(self, place: tuple[Any, ...]) -> str:
        number = int(self.code.concrete("the outcome of a check")[place])
        site = self.sites[number - 1]
        start = sum(len(s.avals) for s in self.sites[: number - 1])
        values = self.values[start : start + len(site.avals)]
        return site.text([opd.as_array(x)[place] for x in values])


tree.register_pytree_node(
    Error,
    lambda error: ((error.code, error.values), error.sites),
    lambda sites, children: Error(children[0], children[1], sites),
)

init_error: Final = Error(sh.full((), 0, dtypes.int32), (), ())


def checkify(
    f: Callable[P, R], errors: Collection[discharge.Category] = user_checks
) -> Callable[P, tuple[Error, R]]:
    """Make a function return its first failure, beside its result.

    Args:
        f: the function. It is traced, as by ``make_jaxpr``; Python's ints and bools, what is
            neither an array nor a number, and static arguments of what ``jit`` returned it gets as
            they are.
        errors: what to look for: ``user_checks``, ``nan_checks``, ``index_checks``,
            ``div_checks``, or a union of these: ``float_checks``, ``automatic_checks``,
            ``all_checks``.

    Returns:
        A function of the same arguments that returns an ``Error`` and the result of ``f``. A
        function with a derivative rule of its own in which something can fail is differentiated by
        its operations.

    Raises:
        ArgumentError: ``f`` is no function, or ``errors`` is no such set.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import checkify
        >>> f = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)
        >>> error, _ = f(jnp.arange(3), 5)
        >>> print(error.get())
        out-of-bounds indexing for array of shape (3,): index 5 is out of bounds for axis 0 with...
    """
    check_function("checkify", f, "f")
    categories: object = errors
    if not (
        isinstance(categories, Collection)
        and all(isinstance(x, discharge.Category) for x in categories)
    ):
        raise ArgumentError(
            f"errors of checkify must be one of the sets {_SETS}, or a union of these by '|', but "
            f"got {described(errors)}. They are in tinyjax.experimental.checkify."
        )

    discharge.register()

    @partial(tracebacks.folded, named=f)
    def returning(*args: P.args, **kwargs: P.kwargs) -> tuple[Error, R]:
        fun: Callable[..., Any] = f
        positional: tuple[Any, ...] = args
        named: dict[str, Any] = kwargs
        if isinstance(f, jit.JitFunction):
            fun, positional, named = f.without_static(args, kwargs)
        leaves, in_tree = tree.flatten_arguments(positional, named)
        dynamic = [is_data(x) and not isinstance(x, int) for x in leaves]
        flat = FlatFunction(fun, in_tree, user_fun=f)

        def of_arrays(*arrays: Array) -> list[Array]:
            rest = iter(arrays)
            return flat(
                *[next(rest) if x else leaf for x, leaf in zip(dynamic, leaves, strict=True)]
            )

        arrays = [as_argument(leaf, f, in_tree, i) for i, leaf in enumerate(leaves) if dynamic[i]]
        staged = staging.stage(of_arrays, [x.aval for x in arrays], frames.Applied("checkify", f))
        discharged = discharge.discharge(staged.jaxpr, frozenset(errors))
        outs = jx.eval_jaxpr(discharged.jaxpr, [*staged.consts, *arrays])
        results, (code,), values = prim.split_list(outs, flat.out_tree.num_leaves, 1)
        result: R = tree.unflatten(flat.out_tree, results)
        return Error(code, tuple(values), discharged.sites), result

    return returning


def check(
    pred: ArrayLike, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any
) -> None:
    """Say that something must hold, else there is an error.

    Within ``checkify`` the error is returned. Without it the error is raised at once; a compiled
    program cannot do that, and so ``jit`` of what makes checks needs ``checkify`` around or inside.

    Args:
        pred: a bool scalar, which must be true.
        msg: a format string.
        fmt_args: arrays, or trees of them, for the fields of ``msg``.
        debug: whether the check does nothing outside of ``checkify``, as that of ``debug_check``.
        fmt_kwargs: likewise, by name.

    Raises:
        ArgumentError: ``pred`` is not a bool scalar, or an argument of the message is not an array.
        CheckFailedError: it does not hold, and the function is not one made by ``checkify``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import checkify
        >>> def root(x):
        ...     checkify.check(x >= 0, "negative: {x}", x=x)
        ...     return jnp.sqrt(x)
        >>> error, value = checkify.checkify(root)(jnp.float32(4))
        >>> error.get(), float(value)
        (None, 2.0)
    """
    _check(pred, msg, fmt_args, fmt_kwargs, debug)


def debug_check(pred: ArrayLike, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Say that something must hold, where the function is one made by ``checkify``.

    Elsewhere the check does nothing, so that it may stay in programs that are compiled.

    Args:
        pred: a bool scalar, which must be true.
        msg: a format string.
        fmt_args: arrays, or trees of them, for the fields of ``msg``.
        fmt_kwargs: likewise, by name.

    Raises:
        ArgumentError: ``pred`` is not a bool scalar, or an argument of the message is not an array.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import checkify
        >>> def root(x):
        ...     checkify.debug_check(x >= 0, "{} is negative", x)
        ...     return jnp.sqrt(x)
        >>> root(-1.0)
        Array(nan, dtype=float32, weak_type=True)
        >>> error, _ = checkify.checkify(root)(-1.0)
        >>> error.get()[:16]
        '-1.0 is negative'
    """
    _check(pred, msg, fmt_args, fmt_kwargs, debug=True)


def _check(
    pred: ArrayLike, msg: str, args: tuple[Any, ...], kwargs: dict[str, Any], debug: bool
) -> None:
    holds = opd.as_array(pred)
    if holds.shape or holds.dtype != dtypes.bool_:
        raise ArgumentError(
            f"check takes a bool scalar, but got {holds.aval}. Reduce it with jnp.all(...), or "
            "compare: x != 0."
        )
    try:
        values = [opd.as_array(x) for x in tree.leaves((args, kwargs))]
    except TinyjaxError as error:
        raise ArgumentError(
            f"the arguments of a check's message are arrays: {error.message} Put other values into "
            "the message itself."
        ) from None
    payload = tree.structure((args, kwargs))
    avals = tuple(x.aval for x in values)
    site = discharge.Site(discharge.Category.USER, msg, payload, avals, frames.user_location())
    discharge.bind_check((holds, *values), discharge.CheckParams(site, debug))


def check_error(error: Error) -> None:
    """Raise an error, if it is one; within ``checkify`` make it an error of the function.

    Args:
        error: what a function made by ``checkify`` has returned.

    Raises:
        ArgumentError: this is no ``Error``.
        CheckFailedError: something failed, and the function is not one made by ``checkify``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.experimental import checkify
        >>> def f(x):
        ...     error, y = checkify.checkify(lambda x: 1 / x, errors=checkify.div_checks)(x)
        ...     checkify.check_error(error)
        ...     return y
        >>> checkify.checkify(f, errors=checkify.all_checks)(jnp.float32(0))[0].get()
        'division by zero'
    """
    if not isinstance(error, Error):
        raise ArgumentError(f"check_error takes an Error of checkify, but got {type_name(error)}.")
    # an error that went to the host and back has NumPy's arrays
    code, values = opd.as_array(error.code), tuple([opd.as_array(x) for x in error.values])
    if code.ndim:  # of mapped examples the first that failed
        count = code.size
        codes = sh.reshape(code, (count,))
        first = arg_extrema.argmax(ew.gt(codes, sh.full_like(codes, 0)), 0, dtypes.int32)
        code = dynamic_slice.dynamic_index_in_dim(codes, first, 0, keepdims=False)
        values = tuple(
            dynamic_slice.dynamic_index_in_dim(
                sh.reshape(x, (count, *x.shape[error.code.ndim :])), first, 0, keepdims=False
            )
            for x in values
        )
    start = 0
    for number, site in enumerate(error.sites, start=1):
        own = values[start : start + len(site.avals)]
        start += len(site.avals)
        discharge.bind_check(
            (ew.ne(code, sh.full_like(code, number)), *own), discharge.CheckParams(site)
        )

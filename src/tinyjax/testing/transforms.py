"""``check_transform``: what holds of every transformation, for one that is written elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tinyjax import callbacks, checkpointing, custom_derivatives, dtypes, lax, tree
from tinyjax.core.api.mapping import vmap
from tinyjax.core.jit import jit
from tinyjax.core.values.operands import as_array
from tinyjax.errors import ArgumentError
from tinyjax.testing import batches, comparing, errors, primitives

Function: TypeAlias = Callable[..., Any]


def _in_custom_jvp(fun: Function) -> Function:
    ruled = custom_derivatives.custom_jvp(fun)
    ruled.defjvp(lambda primals, tangents: (fun(*primals), fun(*primals)))
    return ruled


def _in_custom_vjp(fun: Function) -> Function:
    ruled = custom_derivatives.custom_vjp(fun)
    ruled.defvjp(lambda *args: (fun(*args), args), lambda args, _: args)
    return ruled


def _in_scan(fun: Function) -> Function:
    def scanned(*args: Any) -> Any:
        _, outs = lax.scan(lambda carry, _: (carry, fun(*args)), (), None, length=1)
        return tree.map(lambda y: y[0], outs)

    return scanned


def _in_while(fun: Function) -> Function:
    """A loop that goes round once; what it starts with are the results, at other places."""

    def looped(*args: Any) -> Any:
        start = tree.map(lambda y: 0 * y, fun(*args))
        _, out = lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, fun(*args)), (0, start))
        return out

    return looped


#: The ways in which a function is hidden, without another value: calls, rules, branches, loops.
THROUGH: Final[dict[str, Callable[[Function], Function]]] = {
    "jit": jit,
    "checkpoint": checkpointing.checkpoint,
    "custom_jvp": _in_custom_jvp,
    "custom_vjp": _in_custom_vjp,
    "cond": lambda fun: lambda *args: lax.cond(True, fun, fun, *args),
    "scan": _in_scan,
    "while": _in_while,
}


def check_transform(
    transform: Callable[[Function], Function],
    fun: Function,
    *examples: tuple[Any, ...],
    takes: Callable[..., tuple[Any, ...]] | None = None,
    through: Sequence[str] = tuple(THROUGH),
    vmap_commutes: bool = True,
    effects: bool = True,
    tol: float = 1.0,
) -> primitives.Report:
    """Hold a transformation, yours for instance, to what holds of tinyjax's own.

    Transformed and then compiled, a function gives what it gives transformed alone; so does one
    that is compiled first. Mapped by ``vmap``, it gives what a loop does. A function hidden in a
    call, a loop, a branch or a custom rule is transformed like itself. Its side effects take place.

    Args:
        transform: takes a function, and returns one.
        fun: what is transformed: of arrays, elementwise or not; with rules for your transformation.
        examples: arguments of the transformed function, a tuple for each call.
        takes: arguments of ``fun`` made of those of the transformed function, to try it before it
            is transformed; by default they are the same.
        through: the ways of hiding a function to be looked through: names in ``THROUGH``.
        vmap_commutes: whether the transformed function can be mapped.
        effects: whether side effects of the function take place when the transformed one is called.
        tol: by how much tolerances are widened.

    Returns:
        What was checked, and what was left out.

    Raises:
        CheckError: one of these does not hold. The message says which, and on which arguments.
        ArgumentError: there are no examples, or a name in ``through`` is unknown.

    Example:
        >>> import numpy as np, tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.testing import check_transform
        >>> slope = lambda fun: lambda x: tinyjax.jvp(fun, (x,), (jnp.ones_like(x),))[1]
        >>> report = check_transform(slope, jnp.sin, (np.array([0.5, 1.0]),), through=("jit",))
        >>> print(report)
        a transformation of sin: checked value, jit, vmap, through jit, effects
          not checked, through checkpoint: not asked for
          not checked, through custom_jvp: not asked for
          not checked, through custom_vjp: not asked for
          not checked, through cond: not asked for
          not checked, through scan: not asked for
          not checked, through while: not asked for
    """
    if not examples:
        raise ArgumentError("check_transform needs arguments: tuples, one for each call.")
    unknown = set(through) - set(THROUGH)
    if unknown:
        raise ArgumentError(f"there is no way called {unknown}; the ways are {tuple(THROUGH)}.")
    subject = f"a transformation of {getattr(fun, '__name__', 'a function')}"
    rng = np.random.default_rng(0)
    checked = ["value", "jit"]
    left_out = {f"through {name}": "not asked for" for name in THROUGH if name not in through}
    for args in examples:
        operands = [np.asarray(x) for x in args]
        on = comparing.describe({}, operands)
        with errors.blaming(subject, "the function itself", on):
            fun(*(operands if takes is None else takes(*operands)))
        transformed = _of_arrays(transform(fun))
        with errors.blaming(subject, "the transformed function", on):
            expected = transformed(*operands)
        with errors.blaming(subject, "jit of it", on):
            comparing.compare(jit(transformed)(*operands), expected, tol, "compiled")
        with errors.blaming(subject, "jit of it, of jit,", on):
            got = jit(_of_arrays(transform(jit(fun))))(*operands)
            comparing.compare(got, expected, tol, "compiled inside and outside")
        if vmap_commutes and operands:
            many = [batches.stacked(rng, x, 0, 2) for x in operands]
            with errors.blaming(subject, "vmap of it", f"{on}, each mapped along its first axis"):
                one_by_one = batches.loop(transformed, [0] * len(many), 2, many)
                comparing.compare(vmap(transformed)(*many), one_by_one, tol, "vmap against a loop")
        for name in through:
            with errors.blaming(subject, f"through {name}, it", on):
                got = _of_arrays(transform(THROUGH[name](fun)))(*operands)
                comparing.compare(got, expected, tol, f"of the function in {name}, against itself")
        if effects:
            _check_effects(transform, fun, operands, subject, on)
    checked += ["vmap"] if vmap_commutes else []
    checked += [f"through {name}" for name in through]
    checked += ["effects"] if effects else []
    left_out |= {} if vmap_commutes else {"vmap": "vmap_commutes is False"}
    left_out |= {} if effects else {"effects": "effects is False"}
    return primitives.Report(subject, tuple(checked), {}, left_out)


def _of_arrays(fun: Function) -> Function:
    return lambda *args: fun(*map(as_array, args))


def _check_effects(
    transform: Callable[[Function], Function],
    fun: Function,
    operands: Sequence[dtypes.HostArray],
    subject: str,
    on: str,
) -> None:
    """Hold that what a function does besides its results is done once, eagerly and compiled."""
    calls: list[int] = []

    def noting(*args: Any) -> Any:
        callbacks.io_callback(lambda: calls.append(1), None, ordered=True)
        return fun(*args)

    for how, run in (("eagerly", _of_arrays(transform(noting))), ("compiled", None)):
        calls.clear()
        with errors.blaming(subject, f"an effect of the function, {how},", on):
            comparing.hosts((jit(_of_arrays(transform(noting))) if run is None else run)(*operands))
            if len(calls) != 1:
                raise AssertionError(f"it took place {len(calls)} times, expected once")

"""``check_function``: a function's derivatives, and what it is under ``jit`` and ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from tinyjax import dtypes, errors, frames, tree
from tinyjax.core.jit import jit, jit_p
from tinyjax.core.values import operands as opd
from tinyjax.testing import comparing, primitives, rules, specs
from tinyjax.testing.errors import blaming
from tinyjax.testing.stacks import check_stacks


def check_function(
    f: Callable[..., Any],
    *examples: tuple[Any, ...],
    reference: Callable[..., Any] | None = None,
    order: int = 2,
    depth: int = 2,
    stacks: int | None = 6,
    vmap: bool = True,
    stable: bool = True,
    tol: float = 1.0,
) -> primitives.Report:
    """Hold a function of arrays to all that transformations make of it.

    Compiled it must give what it gives eagerly, in single and in double precision; its derivatives
    must be those of finite differences, in both modes and to second order; and ``vmap`` must be a
    loop. Its results must have the precision of its arguments, and be weakly typed only if these
    are.

    Args:
        f: takes and returns arrays in any containers.
        examples: arguments, a tuple for each call. Derivatives are taken there: not at a kink.
        reference: the same with NumPy, which gets the same arguments.
        order: how many times to differentiate; 0 for a function without derivatives.
        depth: how many transformations there are in a stack, at most.
        stacks: how many stacks of ``jit``, ``vmap``, ``jvp`` and ``vjp`` are tried; None for all.
        vmap: whether it can be mapped.
        stable: whether its results have the precision of the arguments.
        tol: by how much tolerances are widened.

    Returns:
        What was checked.

    Raises:
        CheckError: something is wrong. The message says what, and on which arguments.
        DerivativeMismatchError: a derivative is; it is the cause of a ``CheckError``.
        ArgumentError: there are no examples.

    Example:
        >>> import numpy as np, tinyjax.numpy as jnp
        >>> from tinyjax.testing import check_function
        >>> def loss(w, x):
        ...     return jnp.sum(jnp.tanh(x @ w["a"]))
        >>> w, x = {"a": np.array([0.1, 0.2])}, np.array([[0.3, 0.4], [-0.5, 0.6]])
        >>> check_function(loss, (w, x), stacks=1).checked
        ('values', 'jit', 'types', 'derivatives', 'vmap', 'stacks')
    """
    if not examples:
        raise errors.ArgumentError("check_function needs arguments: tuples, one for each call.")
    name = frames.describe_function(f)
    cases = [_case(args) for args in examples]

    def flat(*leaves: Any, structure: tree.PyTreeDef) -> Any:
        args, _ = tree.unflatten(structure, leaves)
        return f(*args)

    def flat_reference(*leaves: dtypes.HostArray, structure: tree.PyTreeDef) -> Any:
        args, _ = tree.unflatten(structure, leaves)
        return None if reference is None else reference(*args)

    spec = specs.Spec(
        name,
        jit_p,
        flat,
        cases,
        None if reference is None else flat_reference,
        (dtypes.float64,),
        grad=order,
        tol=tol,
    )
    rules.check_values(spec)
    rules.check_lowering(spec)
    checked, left_out = ["values", "jit"], {}
    for what, is_asked, why, check in (
        ("types", stable, "stable is False", _check_stable),
        ("derivatives", order, "order is 0", rules.check_derivatives),
        ("vmap", vmap, "vmap is False", rules.check_batch),
    ):
        if is_asked:
            check(spec)
            checked.append(what)
        else:
            left_out[what] = why
    if not vmap:
        spec = attrs.evolve(spec, skip={"vmap": "it cannot be mapped"})
    check_stacks(spec, depth, stacks)
    return primitives.Report(name, (*checked, "stacks"), {}, left_out)


def _case(args: tuple[Any, ...]) -> specs.Case:
    if not isinstance(args, tuple):
        raise errors.ArgumentError(
            "check_function takes a tuple of arguments for each call, "
            f"but got {errors.shortened(args)}: write "
            "check_function(f, (x,))."
        )
    leaves, structure = tree.flatten_arguments(args, {})
    return specs.Case(*map(np.asarray, leaves), structure=structure)


def _check_stable(spec: specs.Spec) -> None:
    """Hold that results have the precision of arguments, and are no weaker."""
    for case, _, operands in spec.samples():
        fun = spec.applied(case.params)
        if not any(dtypes.is_inexact(x.dtype) for x in operands):
            continue
        for precision in (dtypes.float32, dtypes.float64):
            args = [_of_precision(x, precision.itemsize) for x in operands]
            on = comparing.describe({}, args)
            out = fun(*args)
            with blaming(spec.name, "the type of a result", on):
                for i, y in enumerate(map(opd.as_array, tree.leaves(out))):
                    real = dtypes.real_part(y.dtype)
                    if dtypes.is_inexact(y.dtype) and real != precision:
                        raise AssertionError(f"result {i} is {y.dtype}, of another precision")
                    if y.weak_type:
                        raise AssertionError(
                            f"result {i} is weakly typed, though no argument is: convert it by "
                            "jnp.asarray(y, x.dtype)"
                        )
            with blaming(spec.name, "jit", on):
                compiled = jit(fun)(*args)
                comparing.assert_types(compiled, out, "compiled, against eager evaluation")
                comparing.compare(compiled, out, spec.tol, "compiled, against eager evaluation")


def _of_precision(x: dtypes.HostArray, size: int) -> dtypes.HostArray:
    match dtypes.kind(x.dtype):
        case "f":
            return x.astype(f"f{size}")
        case "c":
            return x.astype(f"c{2 * size}")
        case _:
            return x
